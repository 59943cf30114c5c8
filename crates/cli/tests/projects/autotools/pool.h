#ifndef POOL_H
#define POOL_H
void store(long *p);
void flush(long *p);
void fence(void);
#endif
