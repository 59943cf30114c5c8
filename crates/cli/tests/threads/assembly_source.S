    .text
    .globl bump
bump:
#if defined LOCKED
    lock; incl counter(%rip)
#elif defined IN_PARTS
    movl counter(%rip), %eax
    addl $1, %eax
    movl %eax, counter(%rip)
#elif defined STRING
    leaq counter(%rip), %rdi
    movl $4, %ecx
    xorl %eax, %eax
    rep stosb
#else
    incl counter(%rip)
#endif
    ret

    // Stores into one variable, and looks at the other.
    .globl meet
meet:
    movl $1, (%rdi)
#ifdef FENCED
    mfence
#elif defined LOCKED_STACK
    lock; orl $0, (%rsp)
#endif
    movl (%rsi), %eax
    ret
    .section .note.GNU-stack,"",@progbits
