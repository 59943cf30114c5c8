/* libstdc++'s own configuration, but for one thing: members of std::string come from its shared library, which landfall does not see. They
   are compiled with the program instead, as libstdc++ itself has it from C++20 on. */
#pragma GCC system_header
#include_next <bits/c++config.h>
#if defined _GLIBCXX_EXTERN_TEMPLATE && _GLIBCXX_EXTERN_TEMPLATE > 0
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
