int main(void) { *(volatile int *)0x10 = 1; }
