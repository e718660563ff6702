"""What is shown, looked at as a reader's browser shows it."""
