# The names of transformers that this project uses. Its own __init__ imports every model: pyright
# would read 5,900 files instead of 3,300. A further name is added here.
from transformers.modeling_utils import PreTrainedModel as PreTrainedModel
from transformers.models.auto.configuration_auto import AutoConfig as AutoConfig
from transformers.models.auto.modeling_auto import AutoModelForCausalLM as AutoModelForCausalLM
from transformers.models.auto.tokenization_auto import AutoTokenizer as AutoTokenizer
from transformers.models.gpt2.configuration_gpt2 import GPT2Config as GPT2Config
from transformers.models.gpt2.modeling_gpt2 import GPT2LMHeadModel as GPT2LMHeadModel
from transformers.models.llama.configuration_llama import LlamaConfig as LlamaConfig
from transformers.models.llama.modeling_llama import LlamaForCausalLM as LlamaForCausalLM
from transformers.tokenization_utils_tokenizers import (
    PreTrainedTokenizerFast as PreTrainedTokenizerFast,
)
