(ns peers.jobs
  "What jobs of every language may call; each peer has the same functions."
  (:require [contract :refer [ran]]))

(defn note [& args] (ran "peers.jobs/note" args))

(defn take-note [& args] (ran "peers.jobs/take-note" args))   ; take_note in Python

(defn count! [& args] (ran "peers.jobs/count!" args))         ; registered under this name in Python

(defn note' [& args] (ran "peers.jobs/note'" args))           ; the same

(defn slow [ms & args]
  (ran "peers.jobs/slow" (cons ms args))
  (Thread/sleep ms))

(defn fail [& args]
  (ran "peers.jobs/fail" args)
  (throw (ex-info "as it was asked to" {})))

(def ^:private tried (atom #{}))

(defn flaky
  "Fails the first time that it is called with these arguments."
  [& args]
  (ran "peers.jobs/flaky" args)
  (when-not (contains? (first (swap-vals! tried conj args)) args)
    (throw (ex-info "the first time it fails" {}))))
