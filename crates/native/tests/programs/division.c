int main(int c, char **v) { volatile int zero = 0; return 1 / zero; }
