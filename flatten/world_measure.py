import sys,json,os
os.environ['OMP_NUM_THREADS']='1'
import torch; torch.set_num_threads(1)
from transformers import AutoModelForCausalLM, AutoTokenizer
import importlib.util
folder,out=sys.argv[1:3]
import cand
tok=AutoTokenizer.from_pretrained(folder); m=AutoModelForCausalLM.from_pretrained(folder,dtype=torch.float32).eval()
res={}
bos=[tok.bos_token_id] if tok.bos_token_id is not None and tok('x').input_ids[0]==tok.bos_token_id else []
@torch.no_grad()
def p(prompt,obj):
    a=tok(prompt).input_ids; full=tok(prompt+' '+obj).input_ids
    k=len(a)
    assert full[:k]==a,(prompt,obj)
    lg=torch.log_softmax(m(torch.tensor([full])).logits[0].float(),-1)
    best=tok.decode([int(lg[k-1].argmax())])
    return float(sum(lg[i-1,full[i]] for i in range(k,len(full))).exp()),best
for r,(ws,facts) in cand.R.items():
    for w in ws:
        d={}
        for s,os_ in facts.items():
            for o in os_:
                d[f'{s}|{o}']=p(w.format(s),o)
        res.setdefault(r,{})[w]=d
        v=[x[0] for x in d.values()]
        print(f'{r:22s} {sum(x>=.2 for x in v):3d}/{len(v):3d} mean {sum(v)/len(v):.2f}  {w}',flush=True)
json.dump(res,open(out,'w'),indent=1,ensure_ascii=False)
