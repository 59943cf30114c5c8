// exit 2
// says client.txt:3: send "TEXT": `x` is no text
/* client
# a remark
connect unix:/tmp/s
send x
*/
int main(void) { return 0; }
