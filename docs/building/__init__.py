"""What the site needs beside Sphinx: pages of other folders of the repository, and tables made from the code."""
