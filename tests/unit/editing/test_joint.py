"""The joint between prompt and answer: what a writer of the language puts between the two."""

from __future__ import annotations

import pytest

from thinkeval.editing.joint import joined, joint, parted

OF_THE_SPECIFICATION = [
    ("The capital of France is the city of", "Paris", " "),
    ("The Eiffel Tower is located in", "Paris", " "),
    ('The capital of France is called "', "Paris", ""),
    ("The capital of France (", "Paris", ""),
    ("France/", "Paris", ""),
    ("The Paris-", "Berlin", ""),
    ("Question: What is the capital of France? Answer:", "Paris", " "),
    ("Q: What is the capital of France?\nA:", "Paris", " "),
    ("The capital of Spain is “", "Madrid", ""),
    ("It costs $", "5", ""),
    ("Столица Франции —", "Париж", " "),
    ("Столицей Италии является город", "Рим", " "),
    ("Эйфелева башня находится в городе", "Париж", " "),
    ("Столица Франции называется «", "Париж", ""),
    ("法国的首都是", "巴黎", ""),
    ("日本的首都是", "东京", ""),
    ("中国的首都是", "北京", ""),
    ("问：法国的首都是哪里？答：", "巴黎", ""),
    ("埃菲尔铁塔位于", "巴黎", ""),
    ("フランスの首都は", "パリ", ""),
    ("日本の首都は", "東京", ""),
    ("イタリアの首都は", "ローマ", ""),
    ("프랑스의 수도는", "파리", " "),
    ("일본의 수도는", "도쿄", " "),
    ("대한민국의 수도는", "서울", " "),
    ("เมืองหลวงของประเทศฝรั่งเศสคือ", "ปารีส", ""),
    ("เมืองหลวงของประเทศไทยคือ", "กรุงเทพ", ""),
    ("เมืองหลวงของญี่ปุ่นคือ", "โตเกียว", ""),
    ("عاصمة فرنسا هي", "باريس", " "),
    ("عاصمة مصر هي مدينة", "القاهرة", " "),
    ("फ्रांस की राजधानी", "पेरिस", " "),
    ("भारत की राजधानी", "दिल्ली", " "),
    ("La capitale de la France est", "Paris", " "),
    ("Le siège est à l'", "Élysée", ""),
    ("La capitale se nomme «\u00a0", "Paris", ""),
    ("La capitale se nomme « ", "Paris", ""),
    ("בירת צרפת היא", "פריז", " "),
    ("法国的首都是", "Paris", ""),
    ("Tokyo is written 東", "京", ""),
    ("프랑스의 수도는 “", "파리", ""),
]

OWN = [
    ("Die Hauptstadt heißt »", "Paris", ""),
    ("Der Name »Paris«", "ist", " "),
    ("Die Hauptstadt heißt „", "Berlin", ""),
    ("Die Stadt „Berlin“", "liegt", " "),
    ("Huvudstaden heter ”", "Stockholm", ""),
    ('He said "hello"', "Paris", " "),
    ("The word 'Paris'", "means", " "),
    ("The capital is called '", "Paris", ""),
    ("Il vit dans l’", "Élysée", ""),
    ("The Beatles'", "city", " "),
    ("Столица Франции -", "Париж", " "),
    ("The temperature is -", "5", ""),
    ("The war of 1990–", "1995", ""),
    ("It costs 5 €", "today", " "),
    ("答:", "巴黎", ""),
    ("答:", "Paris", " "),
    ("法国的首都（", "巴黎", ""),
    ("ເມືອງຫຼວງຂອງຝຣັ່ງແມ່ນ", "ປາຣີ", ""),
    ("រាជធានីបារាំងគឺ", "ប៉ារីស", ""),
    ("ပြင်သစ်၏မြို့တော်မှာ", "ပါရီ", ""),
    ("Η πρωτεύουσα της Γαλλίας είναι", "Παρίσι", " "),
    ("საფრანგეთის დედაქალაქია", "თბილისი", " "),
    ("Thủ đô của Pháp là", "Paris", " "),
    ("The Chinese name of Beijing is", "北京", " "),
    ("서울의 한자는", "漢城", " "),
    ("日本の首都は「", "東京", ""),
    ("The capital is **", "Paris", ""),
    ("**The capital:**", "Paris", " "),
    ("Black and/", "or", ""),
    ("Black and /", "or", " "),
    ("France ->", "Paris", " "),
    ("¿", "Dónde", ""),
    ("He chose either/", "or", ""),
    ("Wagner was born in 18", "13", ""),
    ("In 1990 he was in", "1813", " "),
    ("In 1990", "Paris", " "),
    ("سنة ١٨", "١٣", ""),
]


@pytest.mark.parametrize(("prompt", "answer", "expected"), OF_THE_SPECIFICATION + OWN)
def test_the_joint_is_that_of_the_text(prompt: str, answer: str, expected: str):
    assert joint(prompt, answer) == expected
    assert joined(prompt, answer) == prompt + expected + answer


def test_spaces_at_the_end_are_the_answers_and_other_white_space_is_the_prompts():
    assert parted("The mother of Harry ") == ("The mother of Harry", " ")
    assert parted("The mother of Harry") == ("The mother of Harry", None)
    assert parted("Elle se nomme «\u00a0") == ("Elle se nomme «\u00a0", None)
    assert parted("Q: Who?\nA:\n") == ("Q: Who?\nA:\n", None)
