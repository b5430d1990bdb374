(ns later
  "A peer that behaves as the Clojure code that followed the README was seen to behave.

  It differs in what it writes and what it loses: second-first cron strings, items rewritten when they are put back,
  an item due this very millisecond goes back, and a job that cannot be read is lost, its item being gone by then.
  That code ended with `push`, `pop` and `fetch`; what follows a fetch is done here as the README says."
  (:require [clojure.data.json :as json]
            [contract :refer [may-crash now]]
            [cron]
            [job]
            [peers.clojure]
            [peers.jobs]
            [resp :refer [call transact]]))

(defn- put
  "The item as it knows it: parsed, its date apart, and written anew."
  [redis schedule item]
  (call redis "ZADD" (str schedule ":next") (:date item) (json/write-str (dissoc item :date))))

(defn push [redis schedule new-job from]
  (let [payload (job/text new-job)
        id      (job/id payload)]
    (if (zero? (call redis "HSETNX" (str schedule ":jobs") id payload))
      {"added" id "new" false "due" nil}
      (let [_   (may-crash "after-hsetnx")
            due (cron/next-run (cron/parse cron/later (new-job "cron")) (dec (- from (mod from 1000))))]
        (put redis schedule {:id id :date due})
        {"added" id "new" true "due" due}))))

(defn pop-due
  "The first item, if it is due; strictly before now. Otherwise it is put back, and the answer is nil."
  [redis schedule]
  (let [next (str schedule ":next")
        [[text score]] (transact redis ["ZRANGE" next 0 0 "WITHSCORES"] ["ZREMRANGEBYRANK" next 0 0])]
    (when text
      (let [item (assoc (json/read-str text :key-fn keyword) :date (Long/parseLong score))]
        (if (< (:date item) (now))
          item
          (do (may-crash "before-put-back")
              (put redis schedule item)
              nil))))))

(defn fetch
  "The job of an item, its function evaluated: that throws where this program does not know it."
  [redis schedule item]
  (when-let [payload (call redis "HGET" (str schedule ":jobs") (:id item))]
    (update (json/read-str payload :key-fn keyword) :job #(eval (read-string %)))))

(defn- process [redis schedule {:keys [id date] :as item} {:keys [job args cron]}]
  (let [again (cron/next-run (cron/parse cron/later cron) (max date (now)))
        place {"schedule" schedule "id" id "due" date}]
    (when again (put redis schedule (assoc item :date again)))
    (may-crash "after-reschedule")
    (binding [contract/*job* place]
      (try (apply job args)
           (catch Throwable e (contract/say (assoc place "failed" (str e))))))
    (may-crash "after-run")
    (when-not again (call redis "HDEL" (str schedule ":jobs") id))))

(defn turn [redis schedule]
  (when-let [item (pop-due redis schedule)]
    (may-crash "after-pop")
    (when-let [job (fetch redis schedule item)]
      (process redis schedule item job))
    :ran))

(defn -main [port]
  (contract/serve {:name "later" :order "clojure" :traits ["evaluates" "takes-blindly" "in-steps" "loses" "rewrites"]
                   :dialect cron/later :add push :turn turn} (parse-long port)))
