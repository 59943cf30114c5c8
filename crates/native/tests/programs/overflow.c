static int deep(volatile int *p) { volatile int a[100]; a[0] = *p; return deep(a) + a[0]; }
int main(void) { int x = 1; return deep(&x); }
