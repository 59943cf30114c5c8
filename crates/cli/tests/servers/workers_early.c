// flags --recover-schedules --checks crash -DEARLY
// exit 100
// says `expect-line "1"` gets "0\n"
// says the world outside is told here
/* client
connect unix:/tmp/counter
send "+"
expect-line "ok"
acked increment

recovery:
connect unix:/tmp/counter
send "?"
if acked increment
  expect-line "1"
else
  expect-line "0" or "1"
end
*/
#include "workers.c"
