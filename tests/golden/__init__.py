"""What the packages answered before they were rebuilt, and whether they still do."""
