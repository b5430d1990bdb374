(ns resp
  "A Redis client in one page: a socket, commands out, replies in (RESP2). Texts are UTF-8; bad bytes become U+FFFD."
  (:import (java.io BufferedInputStream BufferedOutputStream DataInputStream)
           (java.net Socket)))

(defn connect [port]
  (let [socket (doto (Socket. "127.0.0.1" (int port)) (.setTcpNoDelay true))]
    {:in  (DataInputStream. (BufferedInputStream. (.getInputStream socket)))
     :out (BufferedOutputStream. (.getOutputStream socket))}))

(defn- write [{:keys [^BufferedOutputStream out]} command]
  (let [put (fn [^String text] (.write out (.getBytes text "UTF-8")))]
    (put (str "*" (count command) "\r\n"))
    (doseq [part command :let [text (str part)]]
      (put (str "$" (alength (.getBytes text "UTF-8")) "\r\n"))
      (put text)
      (put "\r\n"))))

(defn- read-line-of [^DataInputStream in]
  (loop [line (StringBuilder.)]
    (let [c (.readUnsignedByte in)]
      (case c
        13 (do (.readByte in) (str line))
        (recur (.append line (char c)))))))

(defn- read-reply [{:keys [^DataInputStream in] :as redis}]
  (let [line (read-line-of in)
        tail (subs line 1)]
    (case (first line)
      \+ tail
      \- (ex-info tail {:reply line})
      \: (parse-long tail)
      \$ (let [size (parse-long tail)]
           (when-not (neg? size)
             (let [bytes (byte-array size)]
               (.readFully in bytes)
               (.readFully in (byte-array 2))
               (String. bytes "UTF-8"))))
      \* (let [size (parse-long tail)]
           (when-not (neg? size)
             (vec (repeatedly size #(read-reply redis))))))))

(defn- ask
  "Send all commands at once, then read as many replies; the first error among them is thrown."
  [redis commands]
  (locking redis
    (run! #(write redis %) commands)
    (.flush ^BufferedOutputStream (:out redis))
    (let [replies (vec (repeatedly (count commands) #(read-reply redis)))]
      (when-let [error (first (filter #(instance? Throwable %) replies))]
        (throw error))
      replies)))

(defn call [redis & command]
  (first (ask redis [command])))

(defn transact
  "MULTI, the commands, EXEC: what they answered."
  [redis & commands]
  (last (ask redis (concat [["MULTI"]] commands [["EXEC"]]))))
