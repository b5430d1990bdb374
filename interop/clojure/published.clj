(ns published
  "A peer by the published README: its insertion and processing steps, with the numbers that they have there."
  (:require [clojure.data.json :as json]
            [contract :refer [may-crash now]]
            [cron]
            [job]
            [peers.clojure]
            [peers.jobs]
            [resp :refer [call transact]]))

(defn put-off-ms
  "How long a job that cannot run here is left to others; by chance, lest the same listener is the first each time."
  []
  (+ 500 (rand-int 1000)))

(defn add [redis schedule new-job from]
  (let [jobs    (str schedule ":jobs")
        payload (job/text new-job)                                                               ; 1.
        id      (job/id payload)
        second  (- from (mod from 1000))
        due     (cron/next-run (cron/parse cron/published (new-job "cron")) (dec second))]       ; 4.
    (cond
      (nil? due) (throw (ex-info "it would never run" new-job))   ; and is not stored: hence 4. before 2.
      (zero? (call redis "HSETNX" jobs id payload)) {"added" id "new" false "due" nil}           ; 2. and 3.
      :else (do (may-crash "after-hsetnx")
                (call redis "ZADD" (str schedule ":next") due (json/write-str {"id" id}))        ; 5.
                {"added" id "new" true "due" due}))))

(defn- function
  "What the text of a job stands for, or nil if it is nothing to this program. Evaluates it, as Clojure listeners do."
  [text]
  (try
    (let [f (eval (read-string text))]
      (when (ifn? f) f))
    (catch Throwable _ nil)))

(defn- run [f args place]
  (binding [contract/*job* place]
    (try (apply f args)
         (catch Throwable e (contract/say (assoc place "failed" (str e)))))))

(defn- process [redis schedule item payload]
  (let [next  (str schedule ":next")
        {text "job" args "args" crontab "cron"} (json/read-str payload)
        again (cron/next-run (cron/parse cron/published crontab) (max (:due item) (now)))]
    (if-let [f (function text)]
      (do (when again (call redis "ZADD" next again (:text item)))                               ; 5.
          (may-crash "after-reschedule")
          (run f args {"schedule" schedule "id" (:id item) "due" (:due item)})                   ; 6.
          (may-crash "after-run")
          (when-not again (call redis "HDEL" (str schedule ":jobs") (:id item))))                ; 7.
      (call redis "ZADD" next (+ (now) (put-off-ms)) (:text item)))))

(defn turn
  "Take the first item and do with it what is to be done; :ran where it was due."
  [redis schedule]
  (let [next (str schedule ":next")
        [[item score]] (transact redis ["ZRANGE" next 0 0 "WITHSCORES"]                          ; 1.
                                       ["ZREMRANGEBYRANK" next 0 0])
        due (some-> score parse-long)]
    (cond
      (nil? item) nil
      (> due (now)) (do (may-crash "before-put-back")                                            ; 2.
                        (call redis "ZADD" next score item)                                      ; 3.
                        :waiting)
      :else (do (may-crash "after-pop")
                (let [id (get (json/read-str item) "id")]
                  (when-let [payload (call redis "HGET" (str schedule ":jobs") id)]              ; 4.
                    (process redis schedule {:id id :text item :due due} payload)))
                :ran))))

(defn -main [port]
  (contract/serve {:name "published" :order "published" :traits ["evaluates" "takes-blindly" "in-steps"]
                   :dialect cron/published :add add :turn turn} (parse-long port)))
