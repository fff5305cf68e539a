-- Runs one statement without parameters, prepared once a thread, again and again.
--
--   sysbench statement.lua --statement='SELECT …' run
--
-- The suite fills the tables itself, so there is nothing to prepare and to clean up.

sysbench.cmdline.options = {
  statement = { 'The SQL text of the statement', '' },
}

local connection, prepared

function thread_init()
  connection = sysbench.sql.driver():connect()
  prepared = connection:prepare(sysbench.opt.statement)
end

function event()
  prepared:execute()
end

function thread_done()
  prepared:close()
  connection:disconnect()
end
