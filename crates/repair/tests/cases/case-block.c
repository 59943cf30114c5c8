// durable
#include <landfall.h>
#include <stdint.h>

struct node {
  uint64_t value, count;
  struct node *next;
  uint64_t data[8];
};

void f(struct node *n, int c) {
  switch (c) {
  case 1: {
    n->value /*@*/= 1;
    break;
  }
  }
}
