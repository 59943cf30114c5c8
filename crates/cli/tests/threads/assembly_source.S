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
    movl %edi, %eax
    leaq counter(%rip), %rdi
    movl $4, %ecx
    rep stosb
#elif defined BITS
    // A bit by its number, in a register.
    subl $1, %edi
    btsl %edi, counter(%rip)
#else
    incl counter(%rip)
#endif
    ret

    // A lock that is waited for in a loop.
    .globl take
take:
    movl $1, %eax
1:
#ifdef BROKEN
    cmpl $0, (%rdi)
    jne 1b
    movl %eax, (%rdi)
    ret
#else
    xchgl %eax, (%rdi)
    testl %eax, %eax
    je 3f
2:  pause
    cmpl $0, (%rdi)
    jne 2b
    jmp 1b
3:  ret
#endif

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
