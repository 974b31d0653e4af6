-- A fair queue Q: the sorted set Q holds the tenants that have members, by turn; Q:TENANT the members of one, by
-- rank. Turns go round: who was served goes behind all others, and who comes, too. The tenant '' comes first, and then
-- after every one of the others: it costs them no more than that.
local FIRST = ''

local function join(queue, tenant)
  local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')
  if last[1] == tenant then return end
  local turn = tenant == FIRST and -1 or math.floor(tonumber(last[2] or -1)) + 1
  redis.call('ZADD', queue, 'NX', turn, tenant)
end

-- Whoever waits already keeps its place.
local function put(queue, tenant, member, rank)
  redis.call('ZADD', queue .. ':' .. tenant, 'NX', rank, member)
  join(queue, tenant)
end

local function withdraw(queue, tenant, member)
  return redis.call('ZREM', queue .. ':' .. tenant, member) == 1
end

-- Whose turn it is of those that may take theirs; who may not keeps it.
local function whose_turn(queue, may)
  local at, two = 0, redis.call('ZRANGE', queue, 0, 1)
  local tenant = two[1]
  while tenant and tenant ~= FIRST and may and not may(tenant) do
    at = at + 1
    tenant = redis.call('ZRANGE', queue, at, at)[1]
  end
  return tenant, two[2] ~= nil
end

local function go_behind(queue, tenant)
  if tenant == FIRST then
    local after = redis.call('ZRANK', queue, FIRST) + 1
    local next = redis.call('ZRANGE', queue, after, after, 'WITHSCORES')[2]
    if next then redis.call('ZADD', queue, tonumber(next) + 0.5, FIRST) end
  else
    local last = redis.call('ZRANGE', queue, -1, -1, 'WITHSCORES')[2]
    redis.call('ZADD', queue, math.floor(tonumber(last)) + 1, tenant)
  end
end

-- The next member, or nil. `may`: which tenants may be served, nil: all. A tenant that has none left is forgotten when
-- its turn comes: most often it is back before.
local function take(queue, may)
  while true do
    local tenant, others = whose_turn(queue, may)
    if not tenant then return nil end
    local member = redis.call('ZPOPMIN', queue .. ':' .. tenant)[1]
    if not member then
      redis.call('ZREM', queue, tenant)
    else
      if others then go_behind(queue, tenant) end
      return member
    end
  end
end

-- False where several tenants have, or lately had, members.
local function surely_empty(queue)
  local tenants = redis.call('ZRANGE', queue, 0, 1)
  return not tenants[2] and (not tenants[1] or redis.call('EXISTS', queue .. ':' .. tenants[1]) == 0)
end

-- Within a tenant: by priority, then what has begun, then who came first.
local TIME_BITS = 4398046511104

local function rank(priority, begun)
  return (2 * priority + (begun and 0 or 1)) * TIME_BITS + now_ms()
end
