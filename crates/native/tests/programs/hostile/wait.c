#include <unistd.h>
int main(void) { int p[2]; char c; pipe(p); return (int)read(p[0], &c, 1); }
