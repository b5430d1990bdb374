"""The pages: one file each, from an inspector to a frozen view. No HTML, and no clock but the server's."""
