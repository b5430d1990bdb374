(ns job
  "The stored text of a job, and its id."
  (:require [clojure.data.json :as json])
  (:import (java.security MessageDigest)))

(defn text
  "Keys in order, so that the same job is the same text, and has the same id, whoever adds it."
  [job]
  (json/write-str (into (sorted-map) job)))

(defn id [^String text]
  (let [digest (.digest (MessageDigest/getInstance "SHA-1") (.getBytes text "UTF-8"))]
    (format "%040x" (BigInteger. 1 digest))))
