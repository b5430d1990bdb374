"""What a page does not show: masked values, masked texts, and the veil that every job passes."""
