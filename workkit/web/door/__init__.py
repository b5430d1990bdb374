"""Who may enter, and as what: ways in, roles, users, and what every request must show. The rules: spec/web.md, 6."""
