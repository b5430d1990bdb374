"""The web face as a browser has it: Chromium against a real `workkit web`, a real server and a real listener."""
