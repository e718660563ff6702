"""Many queries at once: what `assess_many` reads, computes and keeps."""
