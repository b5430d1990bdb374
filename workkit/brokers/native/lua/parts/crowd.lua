-- crowd: read the items of a key that are due and that this listener does not skip. Do not read again what it has read past.
-- A cursor belongs to one key. past: how many items at the front the listener has read and skips. last, score: the last of
-- these. back: how many of them, at the front, it reads again, backwards, one page at a time. hidden: how many of these are
-- surely new. read: when it last read a page again, ms. Reading again finds an item that came to the front while another
-- left it: the rank of `last` does not show that.
-- KEYS skip
-- ARGV now
-- part: id
-- part: entry
local PAGE, PAGES = 1000, 2 -- items in one page, and pages in one claim; the next claim continues there
local PAUSE = 500 -- ms between two pages that are read again, while no item is surely new

local function id_in(entry) -- the job of an entry; '' where it is none
  local _, _, _, _, _, item = parts_of(entry)
  return item and id_of(item) or ''
end

local new_cursor, pack_cursor, read_past, took

local function open_crowd() -- most claims skip nothing, and do not need these functions
  function new_cursor(packed)
    local past, last, score, back, hidden, read = unpack(packed or {})
    local c = { past = past or 0, last = last, score = score, back = back or 0, hidden = hidden or 0, read = read or 0 }
    c.skims = { n = 0 } -- what this claim has read past
    return c
  end

  function pack_cursor(c) return c.past > 0 and { c.past, c.last, c.score, c.back, c.hidden, c.read } or {} end

  local function find_place(key, c) -- the front may have changed since the last claim
    if c.past == 0 then return end
    local past
    if redis.call('ZSCORE', key, c.last) == c.score then
      past = redis.call('ZRANK', key, c.last) + 1
    else
      past = redis.call('ZCOUNT', key, '-inf', '(' .. c.score)
      c.last, c.score = unpack(past > 0 and redis.call('ZRANGE', key, past - 1, past - 1, 'WITHSCORES') or {})
    end
    if past > c.past then c.back, c.hidden = past, c.hidden + past - c.past end
    c.past, c.back = past, math.min(c.back, past)
  end

  local function read_ranks(key, from, upto, is_entry) -- the due items of these ranks, and 1 for each that is skipped
    local got = redis.call('ZRANGE', key, from, upto - 1, 'WITHSCORES')
    local items, ids = {}, {}
    for i = 1, #got, 2 do
      local score = tonumber(got[i + 1])
      if score > tonumber(now) then break end
      local id = is_entry and id_in(got[i]) or not is_entry and id_of(got[i]) or ''
      items[#items + 1] = { got[i], is_entry and '' or got[i + 1], id, score, text = got[i + 1] }
      ids[#ids + 1] = id
    end
    return items, #ids > 0 and redis.call('SMISMEMBER', skip, unpack(ids)) or {}
  end

  local function read_back(key, c, is_entry) -- what is new in the next page that is read again, by due time
    local new = {}
    if c.back == 0 or c.hidden == 0 and math.abs(now - c.read) < PAUSE then return new end
    local from = math.max(0, c.back - PAGE)
    local items, skipped = read_ranks(key, from, c.back, is_entry)
    for k, item in ipairs(items) do
      if skipped[k] == 0 then
        item.is_back, new[#new + 1] = true, item
      end
    end
    c.back, c.read = from, tonumber(now)
    return new
  end

  function read_past(key, c, most, is_entry) -- the first that are due and not skipped, and whether that is all of them
    find_place(key, c)
    local mine = read_back(key, c, is_entry)
    local is_found = c.back == 0 or c.hidden <= #mine
    local start, skims, is_end = c.past, c.skims, false
    for _ = 1, #mine < most and PAGES or 0 do
      local items, skipped = read_ranks(key, start, start + PAGE, is_entry)
      for k, item in ipairs(items) do
        if skipped[k] == 1 then
          skims = { n = skims.n + 1, last = item[1], score = item.text }
        elseif #mine < most then
          item.skims, mine[#mine + 1] = skims, item -- the skipped items before this one
        end
        if #mine == most then break end
      end
      is_end = #items < PAGE
      if is_end or #mine == most then break end
      start = start + PAGE
    end
    c.skims = skims
    return mine, #mine >= most or is_end and is_found
  end

  function took(c, mine, n) -- the first n of what was read are taken: the cursor moves to the first that is left
    local skims, gone = c.skims, 0
    for i, item in ipairs(mine) do
      if item.is_back and i <= n then gone = gone + 1
      elseif item.is_back then c.back, c.hidden = c.past, math.max(c.hidden, gone + 1)
      elseif i > n then skims = item.skims break end
    end
    c.past, c.hidden = c.past - gone + skims.n, math.max(0, c.hidden - gone)
    if skims.last then c.last, c.score = skims.last, skims.score end
    c.back = math.min(c.back, c.past)
    if c.back == 0 then c.back, c.hidden = c.past, 0 end
  end
end
