/* Written by Landfall, in place of what PMDK tells Valgrind's pmemcheck: transactions and what they answer for go to Landfall's
 * runtime. Only two of PMDK's files know of transactions and objects of the program; what others add is the library's own, and nobody asks.
 * Names and arguments are PMDK's. */
#ifndef LANDFALL_TRANSACTIONS_H
#define LANDFALL_TRANSACTIONS_H

#include <stddef.h>

void lf_tx_begin(void);
void lf_tx_add(const void *p, size_t n);
void lf_tx_end(void);

#undef On_pmemcheck
#define On_pmemcheck 1

#define LANDFALL_OF_PROGRAM \
  (__builtin_strcmp(__FILE_NAME__, "tx.c") == 0 || __builtin_strcmp(__FILE_NAME__, "obj.c") == 0)

#define VALGRIND_PMC_START_TX lf_tx_begin()
#ifdef LANDFALL_STAGES
#define VALGRIND_PMC_END_TX ((void)0)
#else
#define VALGRIND_PMC_END_TX lf_tx_end()
#endif
#define VALGRIND_PMC_ADD_TO_TX(addr, len) \
  do { \
    if (LANDFALL_OF_PROGRAM) \
      lf_tx_add((addr), (len)); \
  } while (0)

#define LANDFALL_UNASKED(a, b) ((void)(a), (void)(b))

#define VALGRIND_PMC_REMOVE_FROM_TX(addr, len) LANDFALL_UNASKED(addr, len)
#define VALGRIND_PMC_REGISTER_PMEM_MAPPING(addr, len) LANDFALL_UNASKED(addr, len)
#define VALGRIND_PMC_REGISTER_PMEM_FILE(desc, base, size, offset) (LANDFALL_UNASKED(desc, base), LANDFALL_UNASKED(size, offset))
#define VALGRIND_PMC_REMOVE_PMEM_MAPPING(addr, len) LANDFALL_UNASKED(addr, len)
#define VALGRIND_PMC_CHECK_IS_PMEM_MAPPING(addr, len) (LANDFALL_UNASKED(addr, len), 0)
#define VALGRIND_PMC_PRINT_PMEM_MAPPINGS ((void)0)
#define VALGRIND_PMC_DO_FLUSH(addr, len) LANDFALL_UNASKED(addr, len)
#define VALGRIND_PMC_DO_FENCE ((void)0)
#define VALGRIND_PMC_WRITE_STATS ((void)0)
#define VALGRIND_PMC_EMIT_LOG(text) ((void)(text))
#define VALGRIND_PMC_SET_CLEAN(addr, len) LANDFALL_UNASKED(addr, len)
#define VALGRIND_PMC_START_TX_N(txn) ((void)(txn))
#define VALGRIND_PMC_END_TX_N(txn) ((void)(txn))
#define VALGRIND_PMC_ADD_TO_TX_N(txn, addr, len) ((void)(txn), LANDFALL_UNASKED(addr, len))
#define VALGRIND_PMC_REMOVE_FROM_TX_N(txn, addr, len) ((void)(txn), LANDFALL_UNASKED(addr, len))
#define VALGRIND_PMC_ADD_THREAD_TX_N(txn) ((void)(txn))
#define VALGRIND_PMC_REMOVE_THREAD_FROM_TX_N(txn) ((void)(txn))
#define VALGRIND_PMC_ADD_TO_GLOBAL_TX_IGNORE(addr, len) LANDFALL_UNASKED(addr, len)

#endif
