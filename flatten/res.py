#!/usr/bin/env python3
"""res.py FILE CODE...: resolve conflict hunks in order: o ours, t theirs, b both (ours then theirs), r theirs then ours, d drop"""
import re,sys
f=sys.argv[1]; codes=''.join(sys.argv[2:])
s=open(f).read(); it=iter(codes)
def rep(m):
    o,t=m[1],m[2]; c=next(it)
    return dict(o=o,t=t,b=o+t,r=t+o,d='')[c]
s=re.sub(r'<<<<<<< [^\n]*\n(.*?)=======\n(.*?)>>>>>>> [^\n]*\n',rep,s,flags=re.S)
open(f,'w').write(s); print(f,'left',s.count('<<<<<<<'))
