/* Compiled without Landfall: what it reads is seen all the same. */
long get(const long *p) { return *p; }
