(ns peers.clojure
  "What only Clojure listeners have."
  (:require [contract :refer [ran]]))

(defn only [& args] (ran "peers.clojure/only" args))
