"""The native layout: the two published keys of Clojure WorkKit, and keys of our own beside them."""
