"""What agents need of the signal, whatever their framework: decisions, limits and texts."""
