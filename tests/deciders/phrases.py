"""Acknowledgements in English and Chinese, and what must not be taken for one."""

# ruff: noqa: E501  (tables of phrases)


def _listed(table: str) -> list[str]:
    return table.replace("\n", "|").split("|")


ENGLISH = _listed("""thanks|Thanks!|thank you|Thank you so much!!|thx|ty|ok|OK.|okay|okay, thanks|k|kk|great|Great!|great, thanks
perfect|Perfect, thank you|awesome|cool|cool cool|nice|nice one|good|good job|well done|sounds good|Sounds good to me|looks good
lgtm|LGTM!|makes sense|got it|Got it, thanks!|understood|I see|i see, thanks|right|exactly|agreed|yes|yes please|yes, please.|yep
yeah|yup|sure|Sure thing|of course|absolutely|go on|go ahead|Go ahead!|please go on|continue|Continue.|please continue|keep going
proceed|please proceed|carry on|do it|yes do it|ok do it|ok, go on|no|no thanks|No, thank you.|nope|no problem|no worries
that's all|That's all, thanks|that is all, thank you|that works|it works|it works now|it works now, thanks!|wow|hmm|oh ok|ah, I see
bye|goodbye|have a nice day|you're right|you are right, thanks|Thanks a lot 🙏|👍|👍👍|🎉 great|ok 👌|...|:)|thaaanks|soooo good
very helpful, thank you|Much appreciated|cheers|noted|Noted, thanks|roger that|alright then|fine|fair enough|Thanks again!|ok cool
Yes, that's right|That's great, thanks!|Brilliant, cheers|OK great, please continue|sounds perfect|Thank you, that helps a lot""")
CHINESE = _listed("""好的|好|好的。|好的，谢谢|谢谢|谢谢！|谢谢你|谢谢您|多谢|非常感谢|感谢|太感谢了|辛苦了|嗯|嗯嗯|嗯，好的|哦|哦，明白了|明白|明白了，谢谢
知道了|我知道了|了解|了解了|收到|收到，谢谢|继续|请继续|继续吧|好的，继续|好的 请继续|可以|可以的|可以，继续|行|行吧|没问题|没问题，谢谢|对|对的
对，没错|是的|是的，谢谢|不用了|不用了，谢谢|没有了|没有了，谢谢|就这样|先这样吧|好的，就这样吧|再见|拜拜|谢谢，再见|好的👌|👍谢谢|太好了
太棒了！|很好|很好，继续|非常好|不错|挺好的|完美|厉害|同意|确认|当然可以|原来如此|有道理|ok|OK，继续|ok的
好呀|好啊|好嘞|好吧|行的|行啊，继续吧|没关系|没事了|谢谢啦|谢了|多谢了！|十分感谢|感谢您的帮助|谢谢你的帮助|好的，辛苦了|麻烦你了|我明白了|懂了|懂了，谢谢|清楚了
接着来|往下说|开始吧|就这么办|按你说的做|我同意|真棒|真不错|搞定了|成功了|你说得对|有帮助，谢谢|下次见|不需要了，谢谢|好的，没问题|嗯，可以|对对|是这样""")
CONTENT = _listed("""next|now fix the tests|ok, now write the docs|thanks, one more thing: book a taxi|no, use redis instead|yes but the port is wrong|1|42
continue with the login page|go back to the parser|please add a button|ok what about the weather|sure, my name is Ann|great work but it still fails
what|ok now add a test for it|thanks, now commit it|yes, the second one|no, the other file|ok but why|great, next task|perfect, push it to main
good, run it again|it works, but it is slow|thanks for nothing, it is broken|right, rename it|cool, how does it work|yes, delete them|looks good except the title
that is all wrong|please continue with step 2|go ahead and deploy|ok, option B|nice, can you do the same for the header|got it, what about errors|fine, use the first
换个话题|好的，接下来帮我订酒店|继续优化登录页面|谢谢，再帮我查一下天气|不对|为什么|好吃吗|行程是什么|好的，帮我订机票|好，再加一个测试|可以，那第二个呢
谢谢，那怎么去呢|没问题，改成红色|继续下一个任务|嗯，删掉它|对，但是端口不对|不是这个|明白了，那价格多少|好的，提交代码|不错，颜色再深一点|还是报错
可以打包吗|行，换一家|知道了，几点开门|太好了，顺便查一下地铁|就这样发布吧到测试环境|请写文档|是的，我要两张票|不用了，换成周五""")
