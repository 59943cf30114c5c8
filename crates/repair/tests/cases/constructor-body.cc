// durable bytes=8
#include <landfall.h>
struct Name {
  int length;
  int hash;

  Name(int n) : /*@*/length(n) {
    hash = n * 31;
  }
};
