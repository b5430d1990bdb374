(ns contract
  "The JSON lines between the runner and a peer: commands on stdin, answers and announcements on stdout."
  (:require [clojure.data.json :as json]
            [cron]
            [resp])
  (:import (java.io PrintStream)))

(def ^:private out (PrintStream. System/out true "UTF-8"))

(defn say [record]
  (let [line (json/write-str record)]
    (locking out (.println ^PrintStream out line))))

(defn now [] (System/currentTimeMillis))

;; The job that this thread is running; the functions in peers/ announce it.

(def ^:dynamic *job* nil)

(defn ran [function args]
  (say (assoc *job* "ran" function "args" (vec args) "at" (now))))

;; The places where the published steps can be cut. An armed peer dies there, once, as if its machine had.

(def crash-points ["after-hsetnx" "before-put-back" "after-pop" "after-reschedule" "after-run"])

(def ^:private crash-point (atom nil))

(defn may-crash [point]
  (when (= point @crash-point)
    (.halt (Runtime/getRuntime) 137)))

;; Commands. A peer is {:name :order :traits :dialect :add :turn}; `add` and `turn` are the layout's insertion and processing.

(def ^:private listening (atom {}))   ; schedule -> promise of its end, and the thread
(def pause-ms 50)

(defn- cron-of
  "The cron text of a `when`, and the instant from which its first run is looked for."
  [dialect given]
  (let [due (case given "now" (now) (get given "at"))]
    (if due
      [(cron/once dialect due) due]
      [(get given "cron") (now)])))

(defn- try-turn [turn redis schedule]
  (try
    (turn redis schedule)
    (catch Throwable e   ; whatever was taken is lost
      (say {"lost" (str e) "schedule" schedule}))))

(defn- listen [{:keys [turn]} port schedule]
  (let [redis (resp/connect port)
        end   (promise)]
    (swap! listening assoc schedule
           {:end    end
            :thread (future
                      (while (not (realized? end))
                        (when-not (= :ran (try-turn turn redis schedule))
                          (deref end pause-ms nil))))})))

(defn- stop [schedule]
  (when-let [{:keys [end thread]} (@listening schedule)]
    (deliver end true)
    @thread
    (swap! listening dissoc schedule)))

(defn- drain [{:keys [turn]} redis schedule]
  (count (take-while #(= :ran %) (repeatedly #(try-turn turn redis schedule)))))

(defn- add [{:keys [dialect add]} redis {:strs [schedule fn args] :as command}]
  (let [[text from] (cron-of dialect (command "when"))]
    (add redis schedule {"cron" text "job" (str "#'" fn) "args" args} from)))

(defn- obey [peer port redis {:strs [schedule] :as command}]
  (case (command "do")
    "add"      (add peer redis command)
    "listen"   {"listening" (some? (listen peer port schedule))}
    "stop"     {"stopped" (some? (stop schedule))}
    "drain"    {"drained" (drain peer redis schedule)}
    "crash_at" {"armed" (reset! crash-point (command "point"))}
    "next"     {"next" (cron/next-run (cron/parse (:dialect peer) (command "cron")) (command "from"))}))

(defn serve
  "Obey the commands of stdin until it ends. The answer to a command bears its number, `n`."
  [{:keys [name order traits] :as peer} port]
  (let [redis (resp/connect port)]
    (say {"peer" name "orders" [order] "points" crash-points "traits" traits})
    (doseq [line (line-seq (java.io.BufferedReader. (java.io.InputStreamReader. System/in "UTF-8")))]
      (let [command (json/read-str line)
            answer  (try (obey peer port redis command)
                         (catch Throwable e {"error" (str e)}))]
        (say (assoc answer "n" (command "n")))))
    (shutdown-agents)))
