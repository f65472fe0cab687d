"""What people use today."""
