/* run: --events 100000 */
#include <unistd.h>
#include <sys/syscall.h>
/* An endless loop of system calls in code nobody instruments: the budget ends it. */
int main(void) { for (;;) syscall(SYS_getppid); }
