"""workkit beside a program with hutch, hutch-schedule or event: the Ruby peer of interop/ruby/hutch/."""
