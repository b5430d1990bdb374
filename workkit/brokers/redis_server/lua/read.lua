-- read: answer several questions in one step. It changes nothing. A script does it, because a full server queues no command
-- of a transaction, and because a user who may run scripts needs no further right.
-- ARGV questions
--      questions: msgpack list of commands, each a list of its words. KEYS holds the second word of each
-- ->   the answers
local answers = {}
for place, words in ipairs(cmsgpack.unpack(questions)) do answers[place] = redis.call(unpack(words)) end
return answers
