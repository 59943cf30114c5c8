/* A pool file: a header on a line of its own, then entries of a line each. */
#include <fcntl.h>
#include <landfall.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef POOL
#define POOL "pool-file/pool/ledger"
#endif

struct entry {
  _Alignas(64) uint64_t amount;
  uint64_t check; /* the complement of the amount */
};

struct ledger {
  char magic[8];
  uint64_t count;
  struct entry entry[15];
};

/* The ledger, or NULL if the file is not there, too short or something else. */
static struct ledger *open_ledger(void) {
  int file = open(POOL, O_RDWR);
  struct stat status;
  if (file < 0 || fstat(file, &status) != 0 || status.st_size < (off_t)sizeof(struct ledger))
    return NULL;
  struct ledger *ledger = mmap(NULL, sizeof *ledger, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (ledger == MAP_FAILED || memcmp(ledger->magic, "LEDGER01", 8) != 0)
    return NULL;
  return ledger;
}
