-- tell: store the progress of runs, of each only if the listener holds its record. Remove the progress of runs that are over.
-- KEYS running(listener) progress(listener)
-- ARGV reports...
--      reports: two for each run: its field; its progress as JSON, '' = it is over
-- ->   'gone' or 'ok'
-- part: progress
return store_progress(reports_at)
