// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

struct flags { unsigned dirty : 1, valid : 1; };
void f(struct flags *s) {
  s->valid /*@*/= 1;
}
