#include <signal.h>
/* Signal 0 only: were it not stopped, nothing would happen. */
int main(void) { return kill(-1, 0); }
