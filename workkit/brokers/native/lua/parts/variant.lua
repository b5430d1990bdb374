-- variant: what is added in place of a payload whose id is known. It is a nonce, which comes behind the last field of the payload,
-- or the whole text of another payload.
local function variant_of(payload, variant) -- its id and its bytes
  if string.sub(variant, 1, 1) ~= '{' then variant = string.sub(payload, 1, -2) .. ',"nonce":"' .. variant .. '"}' end
  return redis.sha1hex(variant), variant
end
