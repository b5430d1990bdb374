"""What recurs and what is planned: read for pages, kept for a while, predicted from triggers."""
