(ns cron
  "Cron strings of seven fields, in UTC. The two revisions differ in the order of fields, and in a few readings.
  Names, L, # and what else the later one reads beside the published grammar are refused here."
  (:require [clojure.string :as str])
  (:import (java.time Instant LocalDate LocalDateTime YearMonth ZoneOffset)))

(def published
  {:fields [:year :month :day :weekday :hour :minute :second]
   :years  [1970 9999]
   :nth?   true})   ; v/n: every nth time that v comes round

(def later
  {:fields [:second :minute :hour :month :day :weekday :year]   ; month before day
   :years  [1970 2099]
   :nth?   false})

(defn- bounds [dialect]
  {:year (:years dialect) :month [1 12] :day [1 31] :weekday [0 6] :hour [0 23] :minute [0 59] :second [0 59]})

;; Reading. A field is a list of {:from :to :step}, or of {:value :nth}.

(defn- refuse [text]
  (throw (ex-info (str "cron: cannot read " (pr-str text)) {:text text})))

(defn- read-item [dialect field text]
  (let [[low high] ((bounds dialect) field)
        [_ star a b n] (re-matches #"(?:(\*|\?)|(\d+)(?:-(\d+))?)(?:/(\d+))?" text)
        [a b n] (map #(some-> % parse-long) [a b n])
        item    (cond
                  star                {:from low :to high :step (or n 1)}
                  b                   {:from a :to b :step (or n 1)}
                  (and a n (> n 1))   (if (:nth? dialect) {:value a :nth n :from a :to a :step 1} (refuse text))
                  a                   {:from a :to a :step 1})
        day?    (#{:day :weekday} field)]
    (when (or (nil? item)
              (and (= star "?") (or (not day?) n))
              (and (= field :year) (:nth item))
              (zero? (:step item))
              (not (<= low (:from item) (:to item) high)))
      (refuse text))
    item))

(defn parse
  "Field -> its items, and :open, the day fields that restrict nothing."
  [dialect text]
  (let [texts (str/split (str/trim text) #"[ \t]+")]
    (when-not (= 7 (count texts))
      (refuse text))
    (let [by-field (zipmap (:fields dialect) texts)]
      (into {:open (set (filter #(#{"*" "?"} (by-field %)) [:day :weekday]))
             :years (:years dialect)}
            (for [[field t] by-field]
              [field (mapv #(read-item dialect field %) (str/split t #"," -1))])))))

;; Matching. `nth-time` counts how often the value has come round since 1970, this time included.

(defn- nth-time [field value ^LocalDateTime at]
  (let [day    (.toEpochDay (.toLocalDate at))
        months (+ (* 12 (- (.getYear at) 1970)) (.getMonthValue at))]
    (case field
      :second  (inc (quot (.toEpochSecond at ZoneOffset/UTC) 60))
      :minute  (inc (quot (.toEpochSecond at ZoneOffset/UTC) 3600))
      :hour    (inc day)
      :weekday (inc (quot (- day (mod (- value 4) 7)) 7))   ; day 0 was a Thursday
      :day     (if (<= value 28)
                 months
                 (count (filter #(<= value (.lengthOfMonth (.plusMonths (YearMonth/of 1970 1) %))) (range months))))
      :month   (- (.getYear at) 1969))))

(defn- fits? [cron field value at]
  (some (fn [{:keys [from to step nth]}]
          (and (<= from value to)
               (zero? (mod (- value from) step))
               (or (nil? nth) (zero? (mod (nth-time field value at) nth)))))
        (cron field)))

(defn- day-fits? [cron ^LocalDate date]
  (let [at  (.atStartOfDay date)
        on? {:day     (fits? cron :day (.getDayOfMonth date) at)
             :weekday (fits? cron :weekday (mod (.getValue (.getDayOfWeek date)) 7) at)}
        set (remove (:open cron) [:day :weekday])]
    (or (empty? set) (some on? set))))

(defn next-run
  "The first match strictly after `ms`, in milliseconds, or nil."
  [cron ms]
  (let [start (.plusSeconds (LocalDateTime/ofEpochSecond (Math/floorDiv (long ms) 1000) 0 ZoneOffset/UTC) 1)
        late? (fn [^LocalDateTime at] (not (.isBefore at start)))
        [low high] (:years cron)]
    (first
      (for [year   (range (max low (.getYear start)) (inc high))
            :when  (fits? cron :year year nil)
            month  (range 1 13)
            :let   [length (.lengthOfMonth (YearMonth/of (int year) (int month)))
                    first-day (LocalDateTime/of (int year) (int month) 1 0 0 0)]
            :when  (and (late? (.plusMonths first-day 1)) (fits? cron :month month first-day))
            day    (range 1 (inc length))
            :let   [date (LocalDate/of (int year) (int month) (int day))]
            :when  (and (late? (.atStartOfDay (.plusDays date 1))) (day-fits? cron date))
            hour   (range 24)
            :let   [at (.atTime date (int hour) 0)]
            :when  (and (late? (.plusHours at 1)) (fits? cron :hour hour at))
            minute (range 60)
            :let   [at (.withMinute at minute)]
            :when  (and (late? (.plusMinutes at 1)) (fits? cron :minute minute at))
            second (range 60)
            :let   [at (.withSecond at second)]
            :when  (and (late? at) (fits? cron :second second at))]
        (* 1000 (.toEpochSecond at ZoneOffset/UTC))))))

;; Writing.

(defn once
  "The text that names one second and no other."
  [dialect ms]
  (let [at (LocalDateTime/ofInstant (Instant/ofEpochMilli ms) ZoneOffset/UTC)
        values {:year (.getYear at) :month (.getMonthValue at) :day (.getDayOfMonth at)
                :weekday (if (:nth? dialect) "*" "?")
                :hour (.getHour at) :minute (.getMinute at) :second (.getSecond at)}]
    (str/join " " (map values (:fields dialect)))))
