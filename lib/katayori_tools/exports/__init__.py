"""What `make export` writes: a run in forms that other tools read, and the way back."""
