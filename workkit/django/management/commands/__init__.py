"""One module for each command, in the place where Django looks for them."""
