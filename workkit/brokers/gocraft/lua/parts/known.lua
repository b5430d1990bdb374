-- known: note that a job name is there. A name that is new while the whole namespace is paused is paused with it.
-- KEYS known_jobs
-- part: pausing
local function know(name)
  if redis.call('SADD', known_jobs, name) == 1 then pause_with_all(name) end
end
