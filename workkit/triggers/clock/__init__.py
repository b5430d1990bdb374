"""Wall clock and UTC: zones, their changes, and rules that hold in both."""
