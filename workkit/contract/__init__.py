"""What a layout promises to verbs and listeners: protocols, and the frozen values that cross them."""
